package model

// Standby is the other one of an InferencePool and of the backend that gets its requests while the pool has no endpoint
// (BackendPolicy, failover). Proxies have both, so that a change from one to the other is an edit of a rule.
type Standby struct {
	Backend BackendKey
	Pool    *Pool     // of the pool; nil: it is the one that stands in for the pool
	Policy  ObjectRef // that says so
}

// OfPool is how the endpoints of a pool that gets no requests are chosen; nil: it is none.
func (s *Standby) OfPool() *Pool {
	if s == nil {
		return nil
	}
	return s.Pool
}

// listKeys are the backends that proxies need to send requests to this one.
func (b WeightedBackend) listKeys() []BackendKey {
	list := addPickerKey(b.Backend, b.Pool)
	if b.Standby != nil {
		list = append(list, addPickerKey(b.Standby.Backend, b.Standby.Pool)...)
	}
	return list
}

func addPickerKey(key BackendKey, pool *Pool) []BackendKey {
	if pool.HasPicker() {
		return []BackendKey{key, PickerKey(key.Object)}
	}
	return []BackendKey{key}
}
