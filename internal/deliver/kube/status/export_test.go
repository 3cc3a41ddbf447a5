package status

// Shared is for tests that join this package with others that import it.
var Shared = shared

// Idle tells whether there is nothing to be written, now or later, of all that was reported and seen.
func (s *Status) Idle() bool {
	d := s.term.Load().queue
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.objects {
		if f.inProgress || f.inHeap != nil {
			return false
		}
	}
	return true
}
