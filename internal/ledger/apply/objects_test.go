package apply

// Texts of objects; %s is the stage's namespace.
const (
	configText = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: %s, labels: {app: shop}}
data: {color: red, size: large}
`
	routeText = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: %s}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.example]
  rules:
  - backendRefs: [{name: web, port: 8080}]
`
	gatewayText = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: %s}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: extra, port: 8080, protocol: HTTP}
`
	deploymentText = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %s}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        ports: [{containerPort: 8080}]
        resources: {requests: {cpu: "0.5"}}
        env: [{name: COLOR, value: red}]
`
	// roleText is of a kind without namespaces; its name is the namespace's.
	roleText = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %s}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
`
)
