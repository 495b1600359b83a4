package remote

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/pattern"
)

// The messages that warpld sends and receives, field by field. Their packages are
// build.bazel.remote.execution.v2, google.bytestream, google.longrunning and
// google.rpc. Fields that are not named here are not looked at.

// Digest: hash = 1, size_bytes = 2.
func encodeDigest(d action.Digest) []byte {
	var w writer
	w.text(1, d.Hash)
	w.number(2, d.Size)
	return w
}

var sha256Name = pattern.Lazy(`^[0-9a-f]{64}$`)

func parseDigest(b []byte) (d action.Digest, err error) {
	err = eachField(b, func(f field) error {
		switch f.id {
		case 1:
			d.Hash = string(f.bytes)
		case 2:
			d.Size = int64(f.number)
		}
		return nil
	})
	if err == nil && (!sha256Name().MatchString(d.Hash) || d.Size < 0) {
		err = fmt.Errorf("%q is no digest", printable(d.String(), 100))
	}
	return d, err
}

// An actionResult: output_files = 2, output_directories = 3, exit_code = 4,
// stdout_raw = 5, stdout_digest = 6, stderr_raw = 7, stderr_digest = 8,
// execution_metadata = 9, output_file_symlinks = 10,
// output_directory_symlinks = 11, output_symlinks = 12.
type actionResult struct {
	exitCode       int32
	files          []outputFile
	others         bool // it has directories or symbolic links
	stdout, stderr stream
	worker         string
	// spent is how long the action waited for a worker, the worker for its inputs and
	// the tool for its result.
	spent time.Duration
}

// An outputFile: path = 1, digest = 2, contents = 5.
type outputFile struct {
	path   string
	digest action.Digest
	raw    []byte // its contents, if they came along
}

// A stream is what a tool printed: here, or to be fetched.
type stream struct {
	raw    []byte
	digest *action.Digest
}

func parseActionResult(b []byte) (*actionResult, error) {
	r := &actionResult{}
	err := eachField(b, func(f field) (err error) {
		switch f.id {
		case 2:
			var file outputFile
			file, err = parseOutputFile(f.bytes)
			r.files = append(r.files, file)
		case 3, 10, 11, 12:
			r.others = true
		case 4:
			r.exitCode = int32(f.number)
		case 5:
			r.stdout.raw = f.bytes
		case 6:
			r.stdout.digest, err = optionalDigest(f.bytes)
		case 7:
			r.stderr.raw = f.bytes
		case 8:
			r.stderr.digest, err = optionalDigest(f.bytes)
		case 9:
			err = r.parseMetadata(f.bytes)
		}
		return err
	})
	return r, err
}

// optionalDigest returns nil for an empty Digest, which some servers send for none.
func optionalDigest(b []byte) (*action.Digest, error) {
	if len(b) == 0 {
		return nil, nil
	}
	d, err := parseDigest(b)
	return &d, err
}

func parseOutputFile(b []byte) (file outputFile, err error) {
	var digest []byte
	err = eachField(b, func(f field) error {
		switch f.id {
		case 1:
			file.path = string(f.bytes)
		case 2:
			digest = f.bytes
		case 5:
			file.raw = f.bytes
		}
		return nil
	})
	if err == nil {
		file.digest, err = parseDigest(digest)
	}
	return file, err
}

// ExecutedActionMetadata: worker = 1 and times: queued_timestamp = 2,
// worker_start_timestamp = 3, input_fetch_start_timestamp = 5,
// input_fetch_completed_timestamp = 6, execution_start_timestamp = 7,
// execution_completed_timestamp = 8.
func (r *actionResult) parseMetadata(b []byte) error {
	var times [9]time.Time
	err := eachField(b, func(f field) (err error) {
		switch f.id {
		case 1:
			r.worker = printable(string(f.bytes), 100)
		case 2, 3, 5, 6, 7, 8:
			times[f.id], err = parseTime(f.bytes)
		}
		return err
	})
	for _, end := range []int{3, 6, 8} { // each span ends at the next index
		if begin := times[end-1]; !begin.IsZero() && times[end].After(begin) {
			r.spent += times[end].Sub(begin)
		}
	}
	return err
}

// Timestamp: seconds = 1, nanos = 2.
func parseTime(b []byte) (t time.Time, err error) {
	var seconds, nanos int64
	err = eachField(b, func(f field) error {
		switch f.id {
		case 1:
			seconds = int64(f.number)
		case 2:
			nanos = int64(f.number)
		}
		return nil
	})
	return time.Unix(seconds, nanos), err
}

// encodeResult is the ActionResult of a step that went well.
func encodeResult(outputs []outputFile, r *action.Result) []byte {
	var w writer
	for _, o := range outputs {
		var file writer
		file.text(1, o.path)
		file.bytes(2, encodeDigest(o.digest))
		w.bytes(2, file)
	}
	if len(r.Stdout) > 0 {
		w.bytes(6, encodeDigest(action.DigestOf(r.Stdout)))
	}
	if len(r.Stderr) > 0 {
		w.bytes(8, encodeDigest(action.DigestOf(r.Stderr)))
	}
	return w
}

// Status: code = 1, message = 2, details = 3.
func parseStatus(b []byte) (*statusError, error) {
	s := &statusError{}
	err := eachField(b, func(f field) error {
		switch f.id {
		case 1:
			s.code = code(int32(f.number))
		case 2:
			s.text = string(f.bytes)
		case 3:
			s.details = append(s.details, f.bytes)
		}
		return nil
	})
	return s, err
}

// parseAny returns the contents of an Any (type_url = 1, value = 2) if its type is the one
// asked for, else nil.
func parseAny(b []byte, name string) (value []byte, err error) {
	var kind string
	err = eachField(b, func(f field) error {
		switch f.id {
		case 1:
			kind = string(f.bytes)
		case 2:
			value = f.bytes
		}
		return nil
	})
	if kind[strings.LastIndexByte(kind, '/')+1:] != name {
		return nil, err
	}
	if value == nil {
		value = []byte{}
	}
	return value, err
}

// missing returns the blobs that a failed precondition lists as missing. PreconditionFailure:
// violations = 1 (type = 1, subject = 2); the subject is "blobs/HASH/SIZE".
func (s *statusError) missing() []action.Digest {
	var list []action.Digest
	for _, detail := range s.details {
		failure, err := parseAny(detail, "google.rpc.PreconditionFailure")
		if err != nil || failure == nil {
			continue
		}
		eachField(failure, func(f field) error { // one that can't be read names nothing
			if d, err := parseViolation(f); err == nil {
				list = append(list, d)
			}
			return nil
		})
	}
	return list
}

var errNotMissing = errors.New("not about a missing blob")

func parseViolation(violation field) (d action.Digest, err error) {
	var kind, subject string
	err = eachField(violation.bytes, func(f field) error {
		switch f.id {
		case 1:
			kind = string(f.bytes)
		case 2:
			subject = string(f.bytes)
		}
		return nil
	})
	parts := strings.Split(subject, "/")
	if err != nil || violation.id != 1 || kind != "MISSING" || len(parts) < 3 || parts[0] != "blobs" {
		return d, errNotMissing
	}
	d.Hash = parts[1]
	d.Size, err = strconv.ParseInt(parts[2], 10, 64)
	return d, err
}

// An operation is an execution as far as it has come: name = 1, metadata = 2,
// done = 3, error = 4, response = 5.
type operation struct {
	name   string
	queued bool // it waits for a worker
	done   bool
	// The result of an operation that is done, and its error if it failed.
	result *actionResult
	cached bool
	failed *statusError
}

// The stage of an execution that waits for a worker.
const stageQueued = 2

func parseOperation(b []byte) (*operation, error) {
	op := &operation{}
	err := eachField(b, func(f field) (err error) {
		switch f.id {
		case 1:
			op.name = string(f.bytes)
		case 2:
			err = op.parseMetadata(f.bytes)
		case 3:
			op.done = f.number != 0
		case 4:
			op.failed, err = parseStatus(f.bytes)
		case 5:
			err = op.parseResponse(f.bytes)
		}
		return err
	})
	if err == nil && op.done && op.result == nil && op.failed == nil {
		err = errors.New("the execution is done, but has no result")
	}
	return op, err
}

// ExecuteOperationMetadata: stage = 1.
func (op *operation) parseMetadata(b []byte) error {
	metadata, err := parseAny(b, "build.bazel.remote.execution.v2.ExecuteOperationMetadata")
	if err != nil {
		return err
	}
	return eachField(metadata, func(f field) error {
		if f.id == 1 {
			op.queued = f.number == stageQueued
		}
		return nil
	})
}

// ExecuteResponse: result = 1, cached_result = 2, status = 3.
func (op *operation) parseResponse(b []byte) error {
	response, err := parseAny(b, "build.bazel.remote.execution.v2.ExecuteResponse")
	if err != nil {
		return err
	}
	return eachField(response, func(f field) (err error) {
		switch f.id {
		case 1:
			op.result, err = parseActionResult(f.bytes)
		case 2:
			op.cached = f.number != 0
		case 3:
			var s *statusError
			if s, err = parseStatus(f.bytes); err == nil && s.code != codeOK {
				op.failed = s
			}
		}
		return err
	})
}

// FindMissingBlobsRequest: instance_name = 1, blob_digests = 2. Its response:
// missing_blob_digests = 2.
func encodeFindMissing(instance string, digests []action.Digest) []byte {
	var w writer
	w.text(1, instance)
	for _, d := range digests {
		w.bytes(2, encodeDigest(d))
	}
	return w
}

func parseMissing(b []byte) (list []action.Digest, err error) {
	err = eachField(b, func(f field) error {
		if f.id != 2 {
			return nil
		}
		d, err := parseDigest(f.bytes)
		list = append(list, d)
		return err
	})
	return list, err
}

// BatchUpdateBlobsResponse: responses = 1 (digest = 1, status = 2). The error is
// the first of a blob that was refused.
func parseBatchUpdate(b []byte) error {
	return eachField(b, func(response field) error {
		if response.id != 1 {
			return nil
		}
		return eachField(response.bytes, func(f field) error {
			if f.id != 2 {
				return nil
			}
			s, err := parseStatus(f.bytes)
			if err == nil && s.code != codeOK {
				err = s
			}
			return err
		})
	})
}
