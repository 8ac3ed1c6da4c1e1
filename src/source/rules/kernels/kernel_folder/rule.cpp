// TP803: folders that are nothing but CUDA kernels. It has no matcher, because only the whole
// project can tell: src/source/project/kernel_folders.cpp reports it.
#include "source/rules/rule.h"

namespace torchport::rules::kernel_folder {

namespace {

const Registration kRegistered{{.info = {.code = "TP803",
                                         .name = "kernel-folder",
                                         .family = "kernels",
                                         .severity = Severity::kWarning,
                                         .summary = "a folder is nothing but CUDA kernels"},
                                .kinds = {},
                                .python = nullptr,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::kernel_folder
