package container

import "errors"

// Spec is what to run, and its environment.
type Spec struct {
	Hostname string
	Argv     []string // Argv[0] is looked up in the PATH in Env, if it has no slash
	Env      []string // NAME=value
	Dir      string   // where it starts, "/" if empty

	Root   string            // an empty folder, below which the root is built
	Files  map[string]string // small files, such as /etc/resolv.conf, by their path inside
	Mounts []Mount

	User, Group     uint32
	Groups          []uint32
	Capabilities    []string // capabilities that root keeps, such as CHOWN; another user has none
	NoNewPrivileges bool
	ReadOnly        bool // nothing can be written outside Mounts
}

// Mount makes a file or folder from outside available at a path inside.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Exit is how a program ended.
type Exit struct {
	Code   int // 128 + Signal if a signal ended it
	Signal int
}

// ErrStart wraps the reason why a program did not start: its file is missing, or it may not be run.
var ErrStart = errors.New("the program can't be started")

// capabilities are the names of the kernel's capabilities, by number.
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD",
	"LEASE",
	"AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON", "BPF", "CHECKPOINT_RESTORE",
}

// AllCapabilities are all names that a Spec may have.
func AllCapabilities() []string { return append([]string(nil), capabilities...) }

// DefaultCapabilities are the capabilities that container runtimes give to root.
func DefaultCapabilities() []string {
	return []string{
		"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP",
		"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
	}
}
