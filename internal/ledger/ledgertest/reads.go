package ledgertest

var reads = map[string]func(rig){}
