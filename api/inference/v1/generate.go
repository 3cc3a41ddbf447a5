package v1

//go:generate -command controller-gen go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
//go:generate controller-gen object paths=. crd:maxDescLen=200 output:crd:dir=.
