package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// A call times out before a connection does; a connection that comes late serves the next
	// call.
	dialTime   = 10 * time.Second
	helperTime = 10 * time.Second
	// A connection that was quiet for this long is sent a ping, and closed if none comes back.
	quietTime = 15 * time.Second
	pingTime  = 5 * time.Second
)

// connect prepares the transport and the headers of all calls.
func connect(ctx context.Context, a address, config Config) (*connection, error) {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout: dialTime,
		DisableCompression:  true,
		Protocols:           new(http.Protocols),
		HTTP2:               &http.HTTP2Config{SendPingTimeout: quietTime, PingTimeout: pingTime},
	}
	c := &connection{base: "http://" + a.host, transport: transport, header: http.Header{
		"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"warpld"},
		"Build.bazel.remote.execution.v2.requestmetadata-Bin": {base64.RawStdEncoding.EncodeToString(requestMetadata())},
	}}
	if !a.tls {
		transport.Protocols.SetUnencryptedHTTP2(true)
		if config.Authorities != "" || config.Certificate != "" {
			return nil, errors.New("certificates need a server behind TLS: write grpcs://")
		}
	} else {
		c.base = "https://" + a.host
		transport.Protocols.SetHTTP2(true)
		var err error
		if transport.TLSClientConfig, err = tlsConfig(config); err != nil {
			return nil, err
		}
	}
	return c, c.authenticate(ctx, a, config)
}

// RequestMetadata: tool_details = 1 (tool_name = 1), tool_invocation_id = 3. Servers
// use it to be fair to several clients.
func requestMetadata() []byte {
	var tool, w writer
	tool.text(1, "warpld")
	w.bytes(1, tool)
	w.text(3, uuid())
	return w
}

func tlsConfig(config Config) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if config.Authorities != "" {
		text, err := os.ReadFile(config.Authorities)
		if err != nil {
			return nil, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", config.Authorities)
		}
	}
	if (config.Certificate == "") != (config.Key == "") {
		return nil, errors.New("a certificate needs its key, and a key its certificate")
	}
	if config.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(config.Certificate, config.Key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", config.Certificate, config.Key, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// authenticate adds the headers with the credentials. They are sent only over connections that
// others can't read.
func (c *connection) authenticate(ctx context.Context, a address, config Config) error {
	if config.Token == "" && config.Helper == "" {
		return nil
	}
	if !a.private() {
		return errors.New("a token would be sent for all to read: write grpcs://")
	}
	if config.Token != "" {
		text, err := os.ReadFile(config.Token)
		if err != nil {
			return err
		}
		token := strings.TrimSpace(string(text))
		if token == "" || strings.ContainsAny(token, " \t\r\n") {
			return fmt.Errorf("%s does not hold one token", config.Token)
		}
		c.secret("Authorization", "Bearer "+token)
		c.secrets = append(c.secrets, token)
	}
	if config.Helper != "" {
		return c.askHelper(ctx, a, config.Helper)
	}
	return nil
}

func (c *connection) secret(name, value string) {
	c.header.Set(name, value)
	c.secrets = append(c.secrets, value)
}

// ErrNoCredentials is the error of a credential helper that returned none, which may be
// temporary.
var ErrNoCredentials = errors.New("no credentials")

// askHelper runs a credential helper: it is started with the argument "get", reads
// {"uri": ...} and answers {"headers": {NAME: [VALUE]}}. What it prints
// otherwise is not shown, because nobody knows what is in it.
func (c *connection) askHelper(ctx context.Context, a address, helper string) error {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	question, err := json.Marshal(map[string]string{"uri": "https://" + a.host + "/"})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, helper, "get")
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(question), time.Second
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: credential helper %s: %w", ErrNoCredentials, helper, err)
	}
	var reply struct {
		Headers map[string][]string `json:"headers"`
	}
	if json.Unmarshal(text, &reply) != nil {
		return fmt.Errorf("%w: credential helper %s: its answer is not the JSON that it should be", ErrNoCredentials, helper)
	}
	for name, values := range reply.Headers {
		for _, v := range values {
			c.secret(name, v)
			if _, token, two := strings.Cut(v, " "); two {
				c.secrets = append(c.secrets, token)
			}
		}
	}
	return nil
}
