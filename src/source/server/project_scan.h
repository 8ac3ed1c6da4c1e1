// Checks the files of the workspace that are not open, one after the other whenever the worker has
// nothing else to do. It is for clients that want to see the whole project ("wholeProject").
#pragma once

#include <string>

namespace torchport::server {

class Session;

// Worker's thread: starts a scan in place of the one that runs, or removes what the last one
// published if the setting is off.
void start_project_scan(Session& session);
// Worker's thread: does for one file what the scan does, if the setting is on: it was closed, or it
// changed on the disk.
void check_unopened(Session& session, const std::string& path);

}  // namespace torchport::server
