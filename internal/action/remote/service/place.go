package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/version"
	"golang.org/x/sys/unix"
)

// Program is the name of the executable.
const Program = "warpld-remote"

// FindProgram returns the path of warpld-remote: beside warpld, or where packages put it.
func FindProgram(self string) (string, error) {
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	if !filepath.IsAbs(self) { // what lies in the working directory is not ours
		return "", fmt.Errorf("it is not known where warpld is, so there is no %s", Program)
	}
	dir := filepath.Dir(self)
	for _, path := range []string{filepath.Join(dir, Program), filepath.Join(dir, "..", "libexec", "warpld", Program)} {
		if unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s beside %s, nor in ../libexec/warpld", Program, self)
}

// absolute returns settings that mean the same in another directory.
func absolute(s remote.Settings) (remote.Settings, error) {
	var err error
	whole := func(path *string) {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	for _, path := range []*string{&s.Authorities, &s.Certificate, &s.Key, &s.Token} {
		whole(path)
	}
	headers := make([]string, 0, len(s.Headers))
	for _, header := range s.Headers {
		if name, file, ok := strings.Cut(header, "=@"); ok {
			whole(&file)
			header = name + "=@" + file
		}
		headers = append(headers, header)
	}
	s.Headers = headers
	if s.Helper != "" && err == nil {
		if path, lookErr := exec.LookPath(s.Helper); lookErr == nil {
			s.Helper = path
		}
		whole(&s.Helper)
	}
	return s, err
}

// identities are variables that change what a connection is.
var identities = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "HOME",
	"NETRC", "SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG", "GRPC_GO_LOG_SEVERITY_LEVEL"}

// key names the connection that a link needs. Links with another server, other credentials,
// another version of warpld-remote or in another container have another one.
func key(s remote.Settings, program string, env func(string) string) string {
	type identity struct {
		Settings remote.Settings
		Version  string
		Files    []string
		Env      []string
	}
	id := identity{Settings: s, Version: version.Full()}
	for _, file := range append(s.Files(), program, s.Helper) {
		var stat unix.Stat_t
		if file != "" && unix.Stat(file, &stat) == nil {
			id.Files = append(id.Files, fmt.Sprint(file, stat.Dev, stat.Ino, stat.Size, stat.Mtim.Nano()))
		}
	}
	for _, space := range []string{"mnt", "net"} { // paths and hosts mean something else in another one
		name, _ := os.Readlink("/proc/self/ns/" + space)
		id.Files = append(id.Files, name)
	}
	for _, name := range identities {
		id.Env = append(id.Env, env(name))
	}
	text, err := json.Marshal(id)
	if err != nil {
		panic(err) // it is made of texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}

// longestSocket is how long the path of a socket may be: Linux has room for 108 bytes.
const longestSocket = 100

// socketPath returns the path of the socket with a name, in a directory that only this user can
// enter.
func socketPath(name string, env func(string) string) (string, error) {
	var dirs []string
	if dir := env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, filepath.Join(dir, "warpld"))
	}
	own := "warpld-" + strconv.Itoa(os.Getuid())
	if dir := env("TMPDIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, filepath.Join(dir, own))
	}
	dirs = append(dirs, filepath.Join("/tmp", own))
	var last error
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if len(path) > longestSocket {
			continue
		}
		if last = private(dir); last == nil {
			return path, nil
		}
	}
	return "", last
}

// private makes a directory that only this user can enter, or checks that it is one.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		return nil
	} else if !os.IsExist(err) {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(dir, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR || stat.Mode&0o077 != 0 || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory that only this user can enter", dir)
	}
	return nil
}

// sameUser reports an error unless the other end of a connection is a process of this user.
func sameUser(c net.Conn) error {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%T is not a socket", c)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	if controlErr := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); controlErr != nil {
		return controlErr
	}
	if err != nil {
		return err
	}
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("the other end belongs to user %d", peer.Uid)
	}
	return nil
}
