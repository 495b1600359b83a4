package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// gRPC is HTTP/2, which net/http implements: a request and a response are each a sequence of
// messages with a header of five bytes, and the status is in the trailer. The generated
// packages and their runtime would cost every start of warpld 2 ms and 12 MB of size; the
// tests compare this client with them.

// A code is a status of gRPC.
type code int

const (
	codeOK                 code = 0
	codeCanceled           code = 1
	codeUnknown            code = 2
	codeDeadlineExceeded   code = 4
	codeNotFound           code = 5
	codePermissionDenied   code = 7
	codeResourceExhausted  code = 8
	codeFailedPrecondition code = 9
	codeAborted            code = 10
	codeUnimplemented      code = 12
	codeInternal           code = 13
	codeUnavailable        code = 14
	codeUnauthenticated    code = 16
)

var codeNames = map[code]string{
	codeCanceled: "cancelled", codeUnknown: "unknown error", codeDeadlineExceeded: "no answer in time",
	codeNotFound: "not found", codePermissionDenied: "permission denied", codeResourceExhausted: "out of resources",
	codeFailedPrecondition: "failed precondition", codeAborted: "aborted", codeUnimplemented: "not implemented",
	codeInternal: "internal error", codeUnavailable: "unavailable", codeUnauthenticated: "not authenticated",
}

// A statusError is an answer that is an error, or none.
type statusError struct {
	code    code
	text    string
	details [][]byte // google.protobuf.Any
}

func (e *statusError) Error() string {
	name := codeNames[e.code]
	if name == "" {
		name = fmt.Sprintf("error %d", int(e.code))
	}
	if e.text == "" {
		return name
	}
	return name + ": " + e.text
}

// codeOf is the status of an error; codeUnknown if it is none of the server's.
func codeOf(err error) code {
	var s *statusError
	if errors.As(err, &s) {
		return s.code
	}
	return codeUnknown
}

// maxMessage bounds one message of an answer. Servers send at most 4 MiB by default.
const maxMessage = 16 << 20

// A connection is where calls go. Transports open connections when they are
// needed and again when they were lost.
type connection struct {
	base      string // http://host:port
	transport http.RoundTripper
	header    http.Header
	// secrets are what a message must not repeat, whatever a server answers.
	secrets []string
}

// open sends a request and returns the answer, which may still be on its way.
func (c *connection) open(ctx context.Context, method string, body io.Reader) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+method, io.NopCloser(body))
	if err != nil {
		return nil, err
	}
	request.Header = c.header.Clone()
	if deadline, ok := ctx.Deadline(); ok {
		// A little longer than we wait, so that it is clear which side ended the call.
		left := max(time.Until(deadline), 0).Milliseconds() + 1000
		request.Header.Set("Grpc-Timeout", strconv.FormatInt(min(left, 99999999), 10)+"m")
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, c.transportError(ctx, err)
	}
	a := &answer{connection: c, ctx: ctx, response: response}
	if err := a.checkHead(); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// call sends one message and returns the one that comes back.
func (c *connection) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	a, err := c.open(ctx, method, bytes.NewReader(frame(message)))
	if err != nil {
		return nil, err
	}
	defer a.close()
	return a.only()
}

// frame adds the header to a message: not compressed, and its length.
func frame(message []byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 1, 5+len(message)), uint32(len(message)))
	return append(b, message...)
}

// transportError is the status of a call that failed below gRPC. The text of the cause is
// kept, because it distinguishes a refused connection from a bad certificate.
func (c *connection) transportError(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &statusError{code: codeDeadlineExceeded}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &statusError{code: codeUnavailable, text: c.clean(err.Error())}
}

// clean returns a text of a server in a form that is safe to print: one line of printable
// characters, of limited length and without our secrets.
func (c *connection) clean(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "(secret)")
	}
	const most = 300
	return printable(text, most)
}

// printable replaces what a terminal could take for a command.
func printable(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// An answer is a stream of messages.
type answer struct {
	connection *connection
	ctx        context.Context
	response   *http.Response
}

func (a *answer) close() { a.response.Body.Close() }

// checkHead checks the response's header. A server that has only an error to send puts it
// there.
func (a *answer) checkHead() error {
	kind := a.response.Header.Get("Content-Type")
	switch status := a.response.StatusCode; {
	case status == http.StatusUnauthorized:
		return &statusError{code: codeUnauthenticated, text: "HTTP " + a.connection.clean(a.response.Status)}
	case status == http.StatusForbidden:
		return &statusError{code: codePermissionDenied, text: "HTTP " + a.connection.clean(a.response.Status)}
	case status != http.StatusOK:
		return &statusError{code: codeUnavailable, text: "HTTP " + a.connection.clean(a.response.Status)}
	case !strings.HasPrefix(kind, "application/grpc"):
		return &statusError{code: codeUnavailable,
			text: fmt.Sprintf("the server answers %q and not gRPC", a.connection.clean(kind))}
	case a.response.Header.Get("Grpc-Status") != "":
		return a.status(a.response.Header)
	}
	return nil
}

// next returns the next message, and io.EOF after the last one.
func (a *answer) next() ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(a.response.Body, head[:]); err == io.EOF {
		if err := a.status(a.response.Trailer); err != nil {
			return nil, err
		}
		return nil, io.EOF
	} else if err != nil {
		return nil, a.connection.transportError(a.ctx, err)
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	if head[0] != 0 || length > maxMessage {
		return nil, &statusError{code: codeInternal,
			text: fmt.Sprintf("a message of %d bytes, compression %d, was not asked for", length, head[0])}
	}
	var message bytes.Buffer
	if _, err := io.CopyN(&message, a.response.Body, length); err != nil {
		return nil, a.connection.transportError(a.ctx, err)
	}
	return message.Bytes(), nil
}

// only returns the message of an answer that has exactly one.
func (a *answer) only() ([]byte, error) {
	message, err := a.next()
	if err == io.EOF {
		return nil, &statusError{code: codeInternal, text: "the answer is empty"}
	}
	if err != nil {
		return nil, err
	}
	if _, err := a.next(); err == nil {
		return nil, &statusError{code: codeInternal, text: "more than one answer"}
	} else if err != io.EOF {
		return nil, err
	}
	return message, nil
}

// status returns the error in the trailer of a call, or nil if it succeeded.
func (a *answer) status(h http.Header) error {
	number, err := strconv.Atoi(h.Get("Grpc-Status"))
	if err != nil {
		return &statusError{code: codeUnavailable, text: "the answer ends without a status"}
	}
	if code(number) == codeOK {
		return nil
	}
	text := h.Get("Grpc-Message")
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	s := &statusError{code: code(number), text: a.connection.clean(text)}
	encoded := strings.TrimRight(h.Get("Grpc-Status-Details-Bin"), "=")
	if raw, err := base64.RawStdEncoding.DecodeString(encoded); err == nil {
		if full, err := parseStatus(raw); err == nil && full.code == s.code {
			s.details = full.details
		}
	}
	return s
}

// A writer appends fields of a protobuf message; zero values are omitted.
type writer []byte

func (w *writer) number(field protowire.Number, v int64) {
	if v != 0 {
		*w = protowire.AppendTag(*w, field, protowire.VarintType)
		*w = protowire.AppendVarint(*w, uint64(v))
	}
}

func (w *writer) text(field protowire.Number, s string) {
	if s != "" {
		w.bytes(field, []byte(s))
	}
}

// bytes writes a message or an element of a list, which are there even if empty.
func (w *writer) bytes(field protowire.Number, b []byte) {
	*w = protowire.AppendTag(*w, field, protowire.BytesType)
	*w = protowire.AppendBytes(*w, b)
}

// A field is one of a message that was received.
type field struct {
	id     protowire.Number
	number uint64 // of a varint
	bytes  []byte // of a text, a message or bytes
}

// errMessage is a message that is not in protobuf's format.
var errMessage = errors.New("not a protobuf message")

// eachField hands the fields of a message to f, in their order.
func eachField(b []byte, f func(field) error) error {
	for len(b) > 0 {
		id, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		got := field{id: id}
		switch kind {
		case protowire.VarintType:
			got.number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			got.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(id, kind, b)
		}
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			if err := f(got); err != nil {
				return err
			}
		}
	}
	return nil
}
