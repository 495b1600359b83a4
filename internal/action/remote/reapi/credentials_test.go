package reapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/action/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// An authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.file, _, a.certificate, a.key = a.sign(t, "authority")
	return a
}

// sign makes a certificate and its key as files.
func (a *authority) sign(t *testing.T, name string) (file, keyFile string, c *x509.Certificate, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.key == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert", "CERTIFICATE", der), write("key", "PRIVATE KEY", raw), c, key
}

// TestTLS is the client's half of test 20 of the acceptance list.
func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	cert, key, _, _ := ours.sign(t, "server")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ours.certificate)
	s := newServer(t,
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
			ClientAuth: tls.RequireAndVerifyClientCert})))
	good(t, s)
	ourCert, ourKey, _, _ := ours.sign(t, "linker")
	theirCert, theirKey, _, _ := theirs.sign(t, "linker")
	for name, test := range map[string]struct {
		ca, cert, key string
		note          string // empty: it works
	}{
		"mutual":              {ours.file, ourCert, ourKey, ""},
		"no client":           {ours.file, "", "", "unavailable"}, // TLS 1.3 may end the connection before it says why
		"unknown client":      {ours.file, theirCert, theirKey, "unavailable"},
		"unknown server":      {theirs.file, ourCert, ourKey, "unknown authority"},
		"unknown to a system": {"", ourCert, ourKey, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s, func(c *config) {
				c.Cache = "grpcs://" + s.address
				c.Authorities, c.Certificate, c.Key = test.ca, test.cert, test.key
			})
			r := check(t, c.Cache(&here{}))
			if r.Cached != (test.note == "") || !strings.Contains(strings.Join(c.notes, ""), test.note) {
				t.Errorf("cached %v, notes %q", r.Cached, c.notes)
			}
		})
	}
}

// TestSecrets: tokens reach the server and no message, even if the server repeats
// them.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := write("token", "s3cret\n", 0o600)
	helper := write("helper", "#!/bin/sh\n"+
		`[ "$1" = get ] && grep -q '"uri":"https://127' && echo '{"headers":{"x-auth":["Basic s3cret"]}}'`+"\n", 0o700)
	for header, change := range map[string]func(*config){
		"authorization": func(c *config) { c.Token = token },
		"x-auth":        func(c *config) { c.Helper = helper },
	} {
		s := newServer(t)
		s.before = func(context.Context, string) error { return status.Error(codes.Unauthenticated, "s3cret is bad") }
		c := dial(t, s, change)
		check(t, c.Cache(&here{}))
		if got := s.headers[0].Get(header); len(got) != 1 || !strings.HasSuffix(got[0], " s3cret") {
			t.Errorf("%s: %q", header, got)
		}
		if len(c.notes) != 1 || strings.Contains(c.notes[0], "s3cret") || !strings.Contains(c.notes[0], "is bad") {
			t.Errorf("notes %q", c.notes)
		}
	}
}

func TestBadCredentials(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config remote.Settings
		want   string
	}{
		"token in the clear": {remote.Settings{Cache: "grpc://example.com:1", Token: empty}, "write grpcs://"},
		"empty token":        {remote.Settings{Cache: "grpcs://example.com:1", Token: empty}, "does not hold one token"},
		"no token": {remote.Settings{Cache: "grpcs://example.com:1", Token: filepath.Join(dir, "none")},
			"no such file"},
		"certificate, no TLS": {remote.Settings{Cache: "grpc://localhost:1", Certificate: empty, Key: empty},
			"write grpcs://"},
		"certificate, no key":    {remote.Settings{Cache: "grpcs://localhost:1", Certificate: empty}, "needs its key"},
		"certificate is not one": {remote.Settings{Cache: "grpcs://localhost:1", Certificate: empty, Key: empty}, "PEM"},
		"authority is not one":   {remote.Settings{Cache: "grpcs://localhost:1", Authorities: empty}, "holds no certificate"},
		"header in the clear": {remote.Settings{Cache: "grpc://example.com:1", Headers: []string{"x-key=secret"}},
			"write grpcs://"},
		"no header": {remote.Settings{Cache: "grpcs://example.com:1", Headers: []string{"x-key"}}, "is no header"},
		"header of gRPC": {remote.Settings{Cache: "grpcs://example.com:1", Headers: []string{"grpc-timeout=1"}},
			"is no header"},
		"no file of a header": {remote.Settings{Cache: "grpcs://example.com:1",
			Headers: []string{"x-key=@" + filepath.Join(dir, "none")}}, "no such file"},
	} {
		_, err := Dial(test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, test.want)
		}
	}
}

// TestHelperWithoutAnAnswer: the link goes on without the server.
func TestHelperWithoutAnAnswer(t *testing.T) {
	for _, helper := range []string{"/bin/false", "/bin/true"} {
		s := newServer(t)
		c := dial(t, s, func(c *config) { c.Helper = helper })
		check(t, c.Cache(&here{}))
		if len(c.notes) != 1 || !strings.Contains(c.notes[0], "credential helper") || s.count("GetActionResult") > 0 {
			t.Errorf("%s: notes %q, calls %v", helper, c.notes, s.calls)
		}
	}
}
