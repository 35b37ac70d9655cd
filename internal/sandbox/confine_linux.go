package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// confine is the second child: it gives up all that it may do, for good, and becomes
// the command. It returns only where that fails.
func confine(sp spec) error {
	runtime.LockOSThread()
	env := append(cleanEnv(sp.Env, sp.Home), "HOME="+sp.Home, "TMPDIR="+tmpOf(sp))
	program, err := lookPath(sp.Argv[0], sp.Dir, env)
	if err != nil {
		return &missingError{err}
	}
	if err := os.Chdir(sp.Dir); err != nil {
		return err
	}
	if err := limit(sp.Limits); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if err := restrict(sp); err != nil {
		return err
	}
	if sp.Level == Full {
		if err := dropCapabilities(); err != nil {
			return err
		}
	} else if !sp.Network {
		if err := refuseSockets(); err != nil {
			return fmt.Errorf("refuse sockets: %w", err)
		}
	}
	for fd := 3; fd < 64; fd++ {
		unix.CloseOnExec(fd)
	}
	err = syscall.Exec(program, sp.Argv, env)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOEXEC) {
		return &missingError{fmt.Errorf("%s: %w", program, err)}
	}
	return err
}

func tmpOf(sp spec) string {
	if sp.Level == Full {
		return "/tmp"
	}
	return sp.Home
}

// limit bounds what one process may use.
func limit(l Limits) error {
	for resource, n := range map[int]uint64{unix.RLIMIT_FSIZE: uint64(l.Written), unix.RLIMIT_CORE: 0, unix.RLIMIT_NPROC: uint64(l.Processes)} {
		if resource == unix.RLIMIT_NPROC && os.Getenv("TROUPE_SANDBOX") == "" {
			continue
		}
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	return nil
}

// restrict puts Landlock over the same paths, and asks for at least what refuses
// writing: a kernel without it is no sandbox.
func restrict(sp spec) error {
	var rules []landlock.Rule
	rules = append(rules, landlock.RODirs(systemDirs()...).IgnoreIfMissing())
	for _, path := range sp.Read {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			rules = append(rules, landlock.ROFiles(path).IgnoreIfMissing())
		} else {
			rules = append(rules, landlock.RODirs(path).IgnoreIfMissing())
		}
	}
	write := append([]string{sp.Home}, sp.Write...)
	if sp.Level == Full {
		write = append(write, "/tmp", "/var/tmp", "/run", "/dev/shm")
	}
	rules = append(rules,
		landlock.RWDirs(write...).WithRefer().IgnoreIfMissing(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").WithIoctlDev().IgnoreIfMissing())
	if err := landlock.V3.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// Whatever later kernels can refuse besides is refused where it can be: signals and
	// abstract sockets to processes outside.
	if err := landlock.V6.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("landlock scopes: %w", err)
	}
	return nil
}

// dropCapabilities gives up what process 1 needed for building the walls.
func dropCapabilities() error {
	for c := uintptr(0); c <= 63; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			if errors.Is(err, unix.EINVAL) {
				break
			}
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// refuseSockets refuses to make sockets of any kind: Landlock alone lets through UDP,
// Multipath TCP and sockets with names, such as that of a container engine.
func refuseSockets() error {
	if !strings.HasSuffix(runtime.GOARCH, "64") {
		return errors.New("it is not known for " + runtime.GOARCH)
	}
	const loadNumber, loadArch = 0, 4 // offsets in seccomp_data
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}[runtime.GOARCH]
	if arch == 0 {
		return errors.New("it is not known for " + runtime.GOARCH)
	}
	refuse := uint32(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES))
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	program := []unix.SockFilter{
		load(loadArch),
		equal(arch, 1, 0),
		answer(refuse), // another architecture's calls have other numbers
		load(loadNumber),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 3, K: 0x40000000}, // x32 has its own numbers, too
		equal(unix.SYS_SOCKET, 2, 0),
		equal(unix.SYS_IO_URING_SETUP, 1, 0),
		answer(unix.SECCOMP_RET_ALLOW),
		answer(refuse),
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}
