package remote

import (
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{
		"grpc://cache:9092":           {Host: "cache:9092"},
		"grpcs://cache/team/a":        {Host: "cache:443", TLS: true, Instance: "team/a"},
		"grpc://[::1]:80/":            {Host: "[::1]:80"},
		"unix:/run/cache":             {Host: "/run/cache", Socket: true},
		"unix:///run/c?instance=team": {Host: "/run/c", Socket: true, Instance: "team"},
		"unix:cache":                  {},
		"cache:9092":                  {},
		"http://cache:9092":           {},
		"grpc://":                     {},
		"grpcs://user:secret@cache:1": {},
		"grpc://cache?x=secret":       {},
	} {
		got, err := ParseAddress(text)
		if (err == nil) != (want.Host != "") || (err == nil && got != want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "user:secret") {
			t.Errorf("the message repeats a password: %v", err)
		}
	}
}
