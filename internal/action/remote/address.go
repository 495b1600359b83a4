package remote

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Settings are the addresses of a server and the credentials for it. The credentials are names
// of files and of a program; only a header may be a secret itself.
type Settings struct {
	// Execute is the address of a server that runs actions, and Cache that of a cache. If only
	// one is given, it is both.
	Execute, Cache string
	// Authorities is a file of certificates to trust in place of the system's.
	Authorities string
	// Certificate and Key are the files of the client certificate.
	Certificate, Key string
	// Token is a file that holds a bearer token.
	Token string
	// Helper is a program that prints headers for the server: a credential helper as Bazel has.
	Helper string
	// Headers are sent with each call: NAME=VALUE, or NAME=@FILE for the contents of a file.
	Headers []string
}

// An Address is a server's.
type Address struct {
	Host     string // with the port, or the path of a socket
	TLS      bool
	Socket   bool
	Instance string
}

// ParseAddress parses the address of a server: grpc://HOST[:PORT][/INSTANCE], grpcs:// for one
// behind TLS, or unix:PATH[?instance=INSTANCE]. Credentials in it are rejected, because
// everybody who sees the command line would see them.
func ParseAddress(text string) (a Address, err error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		path, a.Instance, _ = strings.Cut(path, "?instance=")
		a.Host, a.Socket = strings.TrimPrefix(path, "//"), true
		if !filepath.IsAbs(a.Host) {
			return a, fmt.Errorf("%q is no address of a server: write unix:PATH, with the whole path", text)
		}
		return a, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return a, errors.New("the address of the server can't be read: write grpc://HOST:PORT or grpcs://HOST:PORT")
	case u.User != nil:
		return a,
			errors.New("the address of the server holds a name or password, which others could see: put a token into a file")
	case (u.Scheme != "grpc" && u.Scheme != "grpcs") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return a, fmt.Errorf("%q is no address of a server: write grpc://HOST:PORT, grpcs://HOST:PORT or unix:PATH", text)
	}
	a.TLS = u.Scheme == "grpcs"
	a.Instance = strings.Trim(u.Path, "/")
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[a.TLS]
	}
	a.Host = net.JoinHostPort(u.Hostname(), port)
	return a, nil
}

// Private reports whether nobody else can read what is sent to the server.
func (a Address) Private() bool {
	host, _, _ := net.SplitHostPort(a.Host)
	ip := net.ParseIP(host)
	return a.TLS || a.Socket || host == "localhost" || (ip != nil && ip.IsLoopback())
}

// Addresses returns where the cache and where the machines are.
func (s *Settings) Addresses() (cache, machines Address, err error) {
	texts := [2]string{s.Cache, s.Execute}
	for i, text := range texts {
		if text == "" {
			texts[i] = texts[1-i]
		}
	}
	if cache, err = ParseAddress(texts[0]); err == nil {
		machines, err = ParseAddress(texts[1])
	}
	return cache, machines, err
}

// Check reports what can be known to be wrong without a connection and without reading secrets.
func (s *Settings) Check() error {
	cache, machines, err := s.Addresses()
	if err != nil {
		return err
	}
	if (s.Certificate == "") != (s.Key == "") {
		return errors.New("a certificate needs its key, and a key its certificate")
	}
	for _, a := range []Address{cache, machines} {
		if !a.TLS && (s.Authorities != "" || s.Certificate != "") {
			return errors.New("certificates need a server behind TLS: write grpcs://")
		}
		if !a.Private() && (s.Token != "" || s.Helper != "" || len(s.Headers) > 0) {
			return errors.New("a token would be sent for all to read: write grpcs://")
		}
	}
	for _, header := range s.Headers {
		if name, value, ok := strings.Cut(header, "="); !ok || !isHeaderName(name) || value == "" {
			return fmt.Errorf("%q is no header: write NAME=VALUE or NAME=@FILE", name)
		}
	}
	for _, file := range s.Files() {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	return nil
}

// Files returns the files that the settings name.
func (s *Settings) Files() (list []string) {
	for _, file := range []string{s.Authorities, s.Certificate, s.Key, s.Token} {
		if file != "" {
			list = append(list, file)
		}
	}
	for _, header := range s.Headers {
		if _, file, ok := strings.Cut(header, "=@"); ok {
			list = append(list, file)
		}
	}
	return list
}

// isHeaderName reports whether a text can be the name of a header that is none of gRPC's own.
func isHeaderName(text string) bool {
	lower := strings.ToLower(text)
	if text == "" || strings.HasPrefix(lower, "grpc-") || strings.HasSuffix(lower, "-bin") {
		return false
	}
	return strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
