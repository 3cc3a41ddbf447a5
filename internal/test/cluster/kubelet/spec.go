package kubelet

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/test/cluster/container"
)

// hostname is the pod's name as it sees itself.
func (p *pod) hostname() string {
	name := p.latest().Name
	if p.spec.Hostname != "" {
		name = p.spec.Hostname
	}
	return strings.TrimRight(name[:min(len(name), 63)], "-.")
}

// containerSpec is what a container means as a process.
func (m *member) containerSpec() (container.Spec, error) {
	program, err := m.pod.kubelet.image(m.spec.Image)
	if err != nil {
		return container.Spec{}, err
	}
	env, err := m.env(program)
	if err != nil {
		return container.Spec{}, err
	}
	spec := container.Spec{
		Hostname: m.pod.hostname(), Env: asList(env), Dir: cmp.Or(m.spec.WorkingDir, program.Dir),
		Root:  filepath.Join(m.pod.dir, "roots", m.spec.Name),
		Files: map[string]string{"/etc/resolv.conf": m.pod.resolvConf(), "/etc/hosts": m.pod.hosts()},
	}
	for _, argument := range program.argv(m.spec) {
		spec.Argv = append(spec.Argv, expand(argument, env))
	}
	if len(spec.Argv) == 0 {
		return spec, &reasonError{"CreateContainerConfigError",
			fmt.Sprintf("neither the container nor the image %s has a command", m.spec.Image)}
	}
	if err := m.secure(&spec, program); err != nil {
		return spec, err
	}
	for inside, outside := range program.Files {
		spec.Mounts = append(spec.Mounts, container.Mount{Source: outside, Target: inside, ReadOnly: true})
	}
	for _, vm := range m.spec.VolumeMounts {
		mount, err := m.mount(vm, env)
		if err != nil {
			return spec, &reasonError{"CreateContainerConfigError", err.Error()}
		}
		spec.Mounts = append(spec.Mounts, mount)
	}
	return spec, os.MkdirAll(spec.Root, 0o755)
}

// mount is where a container sees a volume, or a part of it.
func (m *member) mount(vm corev1.VolumeMount, env map[string]string) (container.Mount, error) {
	v := m.pod.volumes[vm.Name]
	if v == nil {
		return container.Mount{}, fmt.Errorf("there is no volume %q", vm.Name)
	}
	mount := container.Mount{Source: v.path, Target: vm.MountPath, ReadOnly: vm.ReadOnly || v.readOnly}
	part := cmp.Or(vm.SubPath, expand(vm.SubPathExpr, env))
	if part == "" {
		return mount, nil
	}
	if !filepath.IsLocal(part) {
		return mount, fmt.Errorf("subPath %q leaves the volume", part)
	}
	path := filepath.Join(v.path, part)
	if !v.readOnly {
		if err := os.MkdirAll(path, 0o777); err != nil {
			return mount, err
		}
	}
	var err error
	mount.Source, err = filepath.EvalSymlinks(path) // it stays what it is now: so does a kubelet's
	return mount, err
}

// secure gives the process its user, groups and rights.
func (m *member) secure(spec *container.Spec, program Program) error {
	spec.User, spec.Group = program.User, program.Group
	nonRoot := false
	if s := m.pod.spec.SecurityContext; s != nil {
		as(spec, s.RunAsUser, s.RunAsGroup)
		nonRoot = deref(s.RunAsNonRoot, false)
		for _, g := range s.SupplementalGroups {
			spec.Groups = append(spec.Groups, uint32(g))
		}
		if s.FSGroup != nil {
			spec.Groups = append(spec.Groups, uint32(*s.FSGroup))
		}
	}
	spec.Capabilities = container.DefaultCapabilities()
	if s := m.spec.SecurityContext; s != nil {
		as(spec, s.RunAsUser, s.RunAsGroup)
		nonRoot = deref(s.RunAsNonRoot, nonRoot)
		spec.ReadOnly = deref(s.ReadOnlyRootFilesystem, false)
		spec.NoNewPrivileges = !deref(s.AllowPrivilegeEscalation, true)
		spec.Capabilities = capabilities(s)
	}
	if nonRoot && spec.User == 0 {
		return &reasonError{"CreateContainerConfigError", "container has runAsNonRoot and image will run as root"}
	}
	return nil
}

// as changes the user. A user that is named without a group is in group 0, as in a container runtime.
func as(spec *container.Spec, user, group *int64) {
	if user != nil {
		spec.User, spec.Group = uint32(*user), 0
	}
	if group != nil {
		spec.Group = uint32(*group)
	}
}

// capabilities are the default ones, less what is dropped, and what is added.
func capabilities(s *corev1.SecurityContext) []string {
	if deref(s.Privileged, false) {
		return container.AllCapabilities()
	}
	left := container.DefaultCapabilities()
	if s.Capabilities == nil {
		return left
	}
	names := func(list []corev1.Capability) (names []string) {
		for _, c := range list {
			names = append(names, strings.TrimPrefix(strings.ToUpper(string(c)), "CAP_"))
		}
		return names
	}
	dropped, added := names(s.Capabilities.Drop), names(s.Capabilities.Add)
	left = slices.DeleteFunc(left, func(c string) bool {
		return slices.Contains(dropped, "ALL") ||
			slices.Contains(dropped, c)
	})
	if slices.Contains(added, "ALL") {
		return container.AllCapabilities()
	}
	return append(left, added...)
}

// resolvConf is the pod's /etc/resolv.conf.
func (p *pod) resolvConf() string {
	if p.spec.DNSPolicy == corev1.DNSNone || p.spec.DNSPolicy == corev1.DNSDefault {
		return ""
	}
	namespace := p.latest().Namespace
	return fmt.Sprintf("nameserver %v\nsearch %s.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n",
		p.kubelet.DNS, namespace)
}

// hosts is the pod's /etc/hosts.
func (p *pod) hosts() string {
	text := fmt.Sprintf("127.0.0.1\tlocalhost\n::1\tlocalhost\n%v\t%s\n", p.network.Address, p.hostname())
	for _, alias := range p.spec.HostAliases {
		text += alias.IP + "\t" + strings.Join(alias.Hostnames, "\t") + "\n"
	}
	return text
}
