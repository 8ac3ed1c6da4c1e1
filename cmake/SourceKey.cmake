# Writes KEY into the folder TORCHPORT_SOURCE: see TorchportSource.cmake.
file(REAL_PATH ${TORCHPORT_SOURCE} TORCHPORT_SOURCE)  # the prefix may be relative
file(GLOB_RECURSE files RELATIVE ${TORCHPORT_SOURCE} ${TORCHPORT_SOURCE}/*)
list(SORT files)
set(digests "")
foreach(file IN LISTS files)
  file(SHA256 ${TORCHPORT_SOURCE}/${file} digest)
  string(APPEND digests "${digest} ${file}\n")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 digest)
file(WRITE ${TORCHPORT_SOURCE}/KEY "${TORCHPORT_VERSION}-${digest}\n")
