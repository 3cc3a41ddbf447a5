package extend

// Relations are what a feature has to do with others.
type Relations struct {
	// Group names features of one kind that are rendered together: where one of them is stated, all are. "": it is alone.
	Group string
	// DisabledWith names a feature of the kind: who turns that off, turns this one off, too. "": none.
	DisabledWith string
	// Names are lists of its spec; other kinds may ask for the names of their elements (Reader.Names): "providers".
	Names []string
}
