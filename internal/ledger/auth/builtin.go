package auth

// coreGroup stands for the group without a name in builtinKinds.
const coreGroup = "core"

// builtinKinds are Kubernetes' own kinds, each with its groups. The client library has the same as a scheme, which
// would bring all their types into the program.
const builtinKinds = `Binding core
CSIDriver storage.k8s.io
CSINode storage.k8s.io
CSIStorageCapacity storage.k8s.io
CertificateSigningRequest certificates.k8s.io
ClusterRole rbac.authorization.k8s.io
ClusterRoleBinding rbac.authorization.k8s.io
ClusterTrustBundle certificates.k8s.io
ComponentStatus core
CompositePodGroup scheduling.k8s.io
ConfigMap core
ControllerRevision apps
CronJob batch
DaemonSet apps extensions
Deployment apps extensions
DeploymentRollback apps extensions
DeviceClass resource.k8s.io
DeviceTaintRule resource.k8s.io
EndpointSlice discovery.k8s.io
Endpoints core
Event core events.k8s.io
Eviction lifecycle.k8s.io policy
EvictionRequest lifecycle.k8s.io
FlowSchema flowcontrol.apiserver.k8s.io
HorizontalPodAutoscaler autoscaling
IPAddress networking.k8s.io
Ingress extensions networking.k8s.io
IngressClass networking.k8s.io
Job batch
Lease coordination.k8s.io
LeaseCandidate coordination.k8s.io
LimitRange core
LocalSubjectAccessReview authorization.k8s.io
MutatingAdmissionPolicy admissionregistration.k8s.io
MutatingAdmissionPolicyBinding admissionregistration.k8s.io
MutatingWebhookConfiguration admissionregistration.k8s.io
Namespace core
NetworkPolicy extensions networking.k8s.io
Node core
NodeProxyOptions core
PersistentVolume core
PersistentVolumeClaim core
Pod core
PodAttachOptions core
PodCertificateRequest certificates.k8s.io
PodDisruptionBudget policy
PodExecOptions core
PodGroup scheduling.k8s.io
PodLogOptions core
PodPortForwardOptions core
PodProxyOptions core
PodTemplate core
PriorityClass scheduling.k8s.io
PriorityLevelConfiguration flowcontrol.apiserver.k8s.io
RangeAllocation core
ReplicaSet apps extensions
ReplicationController core
ResourceClaim resource.k8s.io
ResourceClaimTemplate resource.k8s.io
ResourcePoolStatusRequest resource.k8s.io
ResourceQuota core
ResourceSlice resource.k8s.io
Role rbac.authorization.k8s.io
RoleBinding rbac.authorization.k8s.io
RuntimeClass node.k8s.io
Scale apps autoscaling extensions
Secret core
SelfSubjectAccessReview authorization.k8s.io
SelfSubjectReview authentication.k8s.io
SelfSubjectRulesReview authorization.k8s.io
SerializedReference core
Service core
ServiceAccount core
ServiceCIDR networking.k8s.io
ServiceProxyOptions core
StatefulSet apps
StorageClass storage.k8s.io
StorageVersion internal.apiserver.k8s.io
StorageVersionMigration storagemigration.k8s.io
SubjectAccessReview authorization.k8s.io
TokenRequest authentication.k8s.io
TokenReview authentication.k8s.io
ValidatingAdmissionPolicy admissionregistration.k8s.io
ValidatingAdmissionPolicyBinding admissionregistration.k8s.io
ValidatingWebhookConfiguration admissionregistration.k8s.io
VolumeAttachment storage.k8s.io
VolumeAttributesClass storage.k8s.io
Workload scheduling.k8s.io
`
