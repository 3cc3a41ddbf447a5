package container

// Main does nothing yet.
func Main() {}
