package ledger

// secretFields are the fields of a Secret that have its values.
var secretFields = []string{"data", "stringData"}

// MaskSecret shows an object: in a Secret, mask stands in place of each value. A Secret that can't be read has no
// content: rather nothing than something that may be secret.
func (o Object) MaskSecret(mask func(field, name string, value any) string) Object {
	if !o.IsSecret() || len(o.Content) == 0 {
		return o
	}
	object, err := o.Content.DecodeObject()
	o.Content = nil
	if err != nil {
		return o
	}
	for _, field := range secretFields {
		switch values := object[field].(type) {
		case nil:
		case map[string]any:
			for name, value := range values {
				values[name] = mask(field, name, value)
			}
		default:
			delete(object, field)
		}
	}
	if text, err := marshalSorted(object); err == nil {
		o.Content = text
	}
	return o
}
