// Marks the symbols that libtorchport.so exports. Everything without TORCHPORT_API is hidden, so
// that the library's internals can change without breaking programs that link it.
#pragma once

#define TORCHPORT_API __attribute__((visibility("default")))
