package ledgertest

var accesses = map[string]func(rig){}
