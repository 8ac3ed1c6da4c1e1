// Checks the files of the workspace that are not open, one after the other whenever the worker has
// nothing else to do. It is for clients that want to see the whole project ("wholeProject").
#pragma once

namespace torchport::server {

class Session;

// Worker's thread: starts a scan in place of the one that runs, or removes what the last one
// published if the setting is off.
void start_project_scan(Session& session);

}  // namespace torchport::server
