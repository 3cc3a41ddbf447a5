package testcluster

// gatewayAPIModule has the CRDs of the Gateway API in its folder config/crd.
const gatewayAPIModule = "sigs.k8s.io/gateway-api"
