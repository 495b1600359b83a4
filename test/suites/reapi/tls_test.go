//go:build realtools

package reapi

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

	"github.com/warpld/warpld/test/kit"
)

// An identity is a certificate and its key, as files.
type identity struct {
	certificate, key string
	x509             *x509.Certificate
	private          *ecdsa.PrivateKey
}

// newIdentity makes one that signer vouches for, or itself if that is nil.
func newIdentity(t *testing.T, signer *identity) *identity {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := &identity{private: private, x509: &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject:  pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: signer == nil,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}}
	if signer == nil {
		signer = id
	}
	der, err := x509.CreateCertificate(rand.Reader, id.x509, signer.x509, &private.PublicKey, signer.private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	id.certificate, id.key = writePEM(t, "CERTIFICATE", der), writePEM(t, "PRIVATE KEY", raw)
	return id
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Test20: a server that knows its clients by their certificates, and lets others only
// read: who is signed by another authority gets nothing, and who is not known can't
// store results but finds those of others.
func Test20Certificates(t *testing.T) {
	authority, stranger := newIdentity(t, nil), newIdentity(t, nil)
	server, linker := newIdentity(t, authority), newIdentity(t, authority)
	address := strings.Replace(cacheServer(t, "--tls_cert_file", server.certificate, "--tls_key_file", server.key,
		"--tls_ca_file", authority.certificate, "--allow_unauthenticated_reads"), "grpc:", "grpcs:", 1)
	toolkit := kit.Toolkits(t)[0]
	objects := []string{toolkit.Object(t, "stored", "a.o"), toolkit.Object(t, "stored", "b.o")}
	job := kit.NewJob(t, objects, arguments("a.o", "b.o")...)
	known := " --warpld-remote-cert=" + linker.certificate + " --warpld-remote-key=" + linker.key
	unknown := " --warpld-remote-cert=" + stranger.certificate + " --warpld-remote-key=" + stranger.key
	trust := " --warpld-remote-ca=" + authority.certificate
	want, _ := link(t, toolkit, "", job)
	for _, test := range []struct{ name, flags, where, said string }{
		{"a client without a certificate may not store", trust + " --warpld-remote-upload", "compile here, assemble here",
			"without storing results"},
		{"so nothing was stored", trust, "compile here, assemble here", ""},
		{"a known client may", trust + known + " --warpld-remote-upload", "compile here, assemble here", ""},
		{"all find it", trust, "compile cache, assemble cache", ""},
		{"a stranger is refused", trust + unknown, "compile here, assemble here", "without the remote server"},
		{"a strange server is refused", "", "compile here, assemble here", "unknown authority"},
	} {
		t.Run(test.name, func(t *testing.T) {
			flags := "--warpld-remote-keep=5 --warpld-verbose --warpld-cuda=" + toolkit.Root + " --warpld-remote-cache=" +
				address + test.flags
			r, err := kit.Warpld(t, flags).Run(job)
			if err != nil || r.Exit != 0 || !bytes.Equal(r.Files["out.cubin"], want) {
				t.Fatalf("exit code %d, error %v, the same cubin %v", r.Exit, err, bytes.Equal(r.Files["out.cubin"], want))
			}
			if where := steps(r); where != test.where {
				t.Errorf("%s, want %s", where, test.where)
			}
			if said := strings.Contains(r.Stderr, "goes on without"); said != (test.said != "") ||
				!strings.Contains(r.Stderr, test.said) {
				t.Errorf("want %q in\n%s", test.said, r.Stderr)
			}
		})
	}
}
