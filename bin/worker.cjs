// Loaded before all else in each worker of a server. Without this listener, a worker whose primary process has just
// ended would print a stack trace: its first message fails before any module of the program runs.
require('node:cluster').worker?.on('error', () => {});
