package reapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpld/warpld/internal/action/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// helperTime is how long a credential helper may take.
const helperTime = 10 * time.Second

// A credential is the headers that tell the server who this is.
type credential struct {
	fixed  metadata.MD // from files and options
	helper string      // a program, or empty
	uri    string      // what the helper is asked for

	mu     sync.Mutex
	asked  metadata.MD // the helper's headers
	until  time.Time   // and when they expire
	hidden []string    // what no message may repeat
}

// newCredential reads what the settings name. It does not run the helper yet.
func newCredential(a remote.Address, s *remote.Settings) (*credential, error) {
	c := &credential{fixed: metadata.MD{}, helper: s.Helper, uri: "https://" + a.Host + "/"}
	for _, header := range s.Headers {
		name, value, _ := strings.Cut(header, "=")
		if file, ok := strings.CutPrefix(value, "@"); ok {
			text, err := readSecret(file)
			if err != nil {
				return nil, err
			}
			value = text
		}
		c.fixed.Append(name, value)
		c.hide(value)
	}
	if s.Token != "" {
		token, err := readSecret(s.Token)
		if err != nil {
			return nil, err
		}
		c.fixed.Set("authorization", "Bearer "+token)
		c.hide(token)
	}
	if a.TLS && s.Helper == "" && len(c.fixed.Get("authorization")) == 0 {
		if login, password := netrc(a.Host); password != "" {
			value := base64.StdEncoding.EncodeToString([]byte(login + ":" + password))
			c.fixed.Set("authorization", "Basic "+value)
			c.hide(value, password)
		}
	}
	return c, nil
}

// readSecret reads a file that holds one word.
func readSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || strings.ContainsAny(secret, " \t\r\n") {
		return "", fmt.Errorf("%s does not hold one token", path)
	}
	return secret, nil
}

// hide keeps secrets out of messages.
func (c *credential) hide(secrets ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range secrets {
		if s != "" && !slices.Contains(c.hidden, s) {
			c.hidden = append(c.hidden, s)
		}
	}
}

func (c *credential) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.hidden)
}

// headers returns all headers. The helper is asked if its last answer has expired.
func (c *credential) headers(ctx context.Context) (metadata.MD, error) {
	if c.helper == "" {
		return c.fixed, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil || !time.Now().Before(c.until) {
		if err := c.ask(ctx); err != nil {
			return nil, err
		}
	}
	return metadata.Join(c.fixed, c.asked), nil
}

// expire forgets the helper's answer, because the server refused it or because a link begins
// and the answer did not say how long it lasts.
func (c *credential) expire(unlimited bool) (forgotten bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil || (unlimited && !c.until.Equal(forThisLink)) {
		return false
	}
	c.asked = nil
	return true
}

// errNoCredentials is the error of a credential helper that returned none, which may be
// temporary.
var errNoCredentials = errors.New("no credentials")

// forThisLink is when an answer expires that does not say it: with the link.
var forThisLink = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// soon is how long before they expire headers are not used any more.
const soon = 10 * time.Second

// ask runs the credential helper: it is started with the argument "get", reads {"uri": ...} and
// answers {"headers": {NAME: [VALUE]}, "expires": TIME}. What it prints otherwise is not
// shown, because nobody knows what is in it.
func (c *credential) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), helperTime)
	defer cancel()
	question, err := json.Marshal(map[string]string{"uri": c.uri})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.helper, "get")
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(question), time.Second
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: credential helper %s: %w", errNoCredentials, c.helper, err)
	}
	var reply struct {
		Headers map[string][]string `json:"headers"`
		Expires time.Time           `json:"expires"`
	}
	if json.Unmarshal(text, &reply) != nil {
		return fmt.Errorf("%w: credential helper %s: its answer is not the JSON that it should be", errNoCredentials,
			c.helper)
	}
	c.asked, c.until = metadata.MD{}, forThisLink
	if !reply.Expires.IsZero() {
		c.until = reply.Expires.Add(-soon)
	}
	for name, values := range reply.Headers {
		c.asked.Append(name, values...)
		for _, v := range values {
			c.hidden = append(c.hidden, v)
			if _, token, two := strings.Cut(v, " "); two && token != "" {
				c.hidden = append(c.hidden, token)
			}
		}
	}
	c.hidden = slices.DeleteFunc(c.hidden, func(s string) bool { return s == "" })
	return nil
}

// authenticateCall adds the headers to a call. If the server refuses those of the helper, it
// is asked once more.
func (c *Client) authenticateCall(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	for first := true; ; first = false {
		headers, err := c.credentials.headers(ctx)
		if err != nil {
			return err
		}
		err = invoke(with(ctx, headers), method, request, reply, conn, options...)
		if !first || status.Code(err) != codes.Unauthenticated || !c.credentials.expire(false) {
			return err
		}
	}
}

// authenticateStream adds the headers to a stream.
func (c *Client) authenticateStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	headers, err := c.credentials.headers(ctx)
	if err != nil {
		return nil, err
	}
	return open(with(ctx, headers), desc, conn, method, options...)
}

// with returns a context whose calls have more headers.
func with(ctx context.Context, headers metadata.MD) context.Context {
	had, _ := metadata.FromOutgoingContext(ctx)
	return metadata.NewOutgoingContext(ctx, metadata.Join(had, headers))
}

// netrc returns the name and the password that the user's netrc file has for a host, or
// nothing.
func netrc(host string) (login, password string) {
	path := os.Getenv("NETRC")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", ""
		}
		path = filepath.Join(home, ".netrc")
	}
	text, err := os.ReadFile(path)
	if err != nil || len(text) > 1<<20 {
		return "", ""
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return "", ""
	}
	return parseNetrc(string(text), name)
}

// parseNetrc reads words: "machine NAME" or "default" begins an entry, which has "login NAME"
// and "password TEXT". What follows "macdef" up to an empty line is no part of it.
func parseNetrc(text, host string) (login, password string) {
	words, ours := netrcWords(text), false
	for i := 0; i < len(words); i++ {
		word, value := words[i], ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch word {
		case "machine", "default":
			if ours {
				return login, password
			}
			ours, login, password = word == "default" || value == host, "", ""
		case "login":
			login = value
		case "password":
			password = value
		}
		if word != "default" {
			i++
		}
	}
	if !ours {
		return "", ""
	}
	return login, password
}

// netrcWords returns the words outside of macros and comments.
func netrcWords(text string) (words []string) {
	macro := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if macro = macro && len(fields) > 0; macro {
			continue
		}
		for _, word := range fields {
			if macro = word == "macdef"; macro || word[0] == '#' {
				break
			}
			words = append(words, word)
		}
	}
	return words
}
