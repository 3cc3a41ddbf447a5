package ledgertest

var works = map[string]func(rig){}
