package ledgertest

var concurrent = map[string]func(rig){}
