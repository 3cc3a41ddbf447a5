// Package wire is what kubetest and bin/testcluster say to each other: JSON-RPC over standard input and output of
// `testcluster serve`.
//
// It owns the types and names that both need. It must never know how a cluster works, nor import anything: the two are
// in different modules.
package wire

// Environment variables of a program that `testcluster run` has started.
const (
	ProgramVariable = "CARDEA_TESTCLUSTER"         // path of bin/testcluster; it is set in a sandbox only
	MissingVariable = "CARDEA_TESTCLUSTER_MISSING" // why there is no sandbox
)

// Methods of the cluster that `testcluster serve` runs. Arguments and results are in brackets.
const (
	Up                = "Cluster.Up"                // [Options] starts the cluster [path of the kubeconfig]
	Apply             = "Cluster.Apply"             // [YAML text]
	InstallGatewayAPI = "Cluster.InstallGatewayAPI" // [channel]
	StopAPIServer     = "Cluster.StopAPIServer"
	StartAPIServer    = "Cluster.StartAPIServer"
	RestartEtcd       = "Cluster.RestartEtcd"
	SaveStore         = "Cluster.SaveStore"
	RestoreStore      = "Cluster.RestoreStore"
	KillPod           = "Cluster.KillPod"  // [Container]
	SetClock          = "Cluster.SetClock" // [nanoseconds that the kubelet's clock is ahead]
)

// None is an argument or a result that says nothing.
type None struct{}

// Options are the settings of a cluster.
type Options struct {
	// Images are the programs for images, by the image's name with or without its tag. They take precedence over the
	// images that every cluster has. A container with any other image waits, with reason ErrImagePull.
	Images map[string]Program
	// WithoutPodCertificates starts an API server without the feature gates of PodCertificateRequests and
	// ClusterTrustBundles, as Kubernetes 1.36 is by default.
	WithoutPodCertificates bool
	// Verbose logs what the kubelet and the Services do to standard error.
	Verbose bool
}

// Program is what is used for an image: its files, and the command that it runs unless the container has another.
// Images are not pulled.
type Program struct {
	Files      map[string]string // path in the container -> file or folder outside
	Entrypoint []string          // as in an image; replaced by a container's command
	Cmd        []string          // as in an image; replaced by a container's args or command
	Env        []string          // NAME=value
	Dir        string            // working folder
	User       uint32            // the user, unless a security context sets one
	Group      uint32
}

// Container names a pod's container, or all of them if Name is empty.
type Container struct{ Namespace, Pod, Name string }
