package ledgertest

var registries = map[string]func(rig){}
