package container

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// dropPrivileges makes the calling thread what the program is to be. It works thread by thread: the others end at exec.
func dropPrivileges(spec Spec) error {
	// Beyond the bounding set not even root gets a capability at exec. The kernel may know fewer of them, or more.
	for number := 0; ; number++ {
		if number < len(capabilities) && slices.Contains(spec.Capabilities, capabilities[number]) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0); err == unix.EINVAL {
			break
		} else if err != nil {
			return fmt.Errorf("drop capability %d: %w", number, err)
		}
	}
	groups := make([]int, len(spec.Groups))
	for i, g := range spec.Groups {
		groups[i] = int(g)
	}
	if err := unix.Setgroups(groups); err != nil {
		return fmt.Errorf("set groups: %w", err)
	}
	if err := unix.Setresgid(int(spec.Group), int(spec.Group), int(spec.Group)); err != nil {
		return fmt.Errorf("set group: %w", err)
	}
	// To leave user 0 clears the capabilities; who stays has those of the bounding set after exec.
	if err := unix.Setresuid(int(spec.User), int(spec.User), int(spec.User)); err != nil {
		return fmt.Errorf("set user: %w", err)
	}
	if spec.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	return nil
}
