package ledgertest

var traps = map[string]func(rig){}
