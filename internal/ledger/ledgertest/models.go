package ledgertest

var models = map[string]func(rig){}
