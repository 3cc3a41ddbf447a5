package ledgertest

var commits = map[string]func(rig){}
