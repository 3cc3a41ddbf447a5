package status

// Shared is for tests that join this package with others that import it.
var Shared = shared
