// Marks what libtorchport_observer.so exports to the libraries beside it. It is not a public
// interface: programs include torchport/observe.h.
#pragma once

#define TORCHPORT_OBSERVER_API __attribute__((visibility("default")))
