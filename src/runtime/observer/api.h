// What libtorchport_observer.so shows to the libraries beside it. Nothing of it is public: programs
// include torchport/observe.h.
#pragma once

#define TORCHPORT_OBSERVER_API __attribute__((visibility("default")))
