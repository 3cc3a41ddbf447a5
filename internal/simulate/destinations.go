package simulate

import "reflect"

// deliver adds a destination; its share joins that of one which is the same.
func (s *simulation) deliver(d Destination) {
	for i, other := range s.result.Destinations {
		share := other.Share
		if other.Share = d.Share; reflect.DeepEqual(other, d) {
			s.result.Destinations[i].Share = share + d.Share
			return
		}
	}
	s.result.Destinations = append(s.result.Destinations, d)
}
