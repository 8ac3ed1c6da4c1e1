// What libtorchport.so offers to programs that link it.
#pragma once

#define TORCHPORT_API __attribute__((visibility("default")))
