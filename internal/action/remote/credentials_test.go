package remote

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]address{
		"grpc://cache:9092":           {host: "cache:9092"},
		"grpcs://cache/team/a":        {host: "cache:443", tls: true, instance: "team/a"},
		"grpc://[::1]:80/":            {host: "[::1]:80"},
		"cache:9092":                  {},
		"http://cache:9092":           {},
		"grpc://":                     {},
		"grpcs://user:secret@cache:1": {},
		"grpc://cache?x=secret":       {},
	} {
		got, err := parseAddress(text)
		if (err == nil) != (want.host != "") || (err == nil && got != want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "user:secret") {
			t.Errorf("the message repeats a password: %v", err)
		}
	}
}

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
			c := dial(t, s, func(config *Config) {
				config.Server = "grpcs://" + s.address
				config.Authorities, config.Certificate, config.Key = test.ca, test.cert, test.key
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
	for header, change := range map[string]func(*Config){
		"authorization": func(c *Config) { c.Token = token },
		"x-auth":        func(c *Config) { c.Helper = helper },
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
		config Config
		want   string
	}{
		"token in the clear": {Config{Server: "grpc://example.com:1", Token: empty}, "write grpcs://"},
		"empty token":        {Config{Server: "grpcs://example.com:1", Token: empty}, "does not hold one token"},
		"no token": {Config{Server: "grpcs://example.com:1", Token: filepath.Join(dir, "none")},
			"no such file"},
		"certificate, no TLS":    {Config{Server: "grpc://localhost:1", Certificate: empty, Key: empty}, "write grpcs://"},
		"certificate, no key":    {Config{Server: "grpcs://localhost:1", Certificate: empty}, "needs its key"},
		"certificate is not one": {Config{Server: "grpcs://localhost:1", Certificate: empty, Key: empty}, "PEM"},
		"authority is not one":   {Config{Server: "grpcs://localhost:1", Authorities: empty}, "holds no certificate"},
		"helper fails":           {Config{Server: "grpcs://localhost:1", Helper: "/bin/false"}, "credential helper"},
		"helper says nothing":    {Config{Server: "grpcs://localhost:1", Helper: "/bin/true"}, "credential helper"},
	} {
		_, err := Dial(t.Context(), test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, test.want)
		}
		if errors.Is(err, ErrNoCredentials) != (test.config.Helper != "") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
