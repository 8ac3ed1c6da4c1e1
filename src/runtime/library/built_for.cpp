// Names the torch that the library was built against, so that it can be found in the file without
// loading it.
#include <torchport/export.h>

extern "C" TORCHPORT_API const char torchport_built_for[];
const char torchport_built_for[] = "torchport: built for torch " TORCHPORT_TORCH_VERSION ";";
