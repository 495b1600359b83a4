package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const ownPrograms = "../../programs/field"

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][][]string{
		``:                             nil,
		`a  b`:                         {{"a", "b"}},
		`a 'b c' "d \"e" f\ g`:         {{"a", "b c", `d "e`, "f g"}},
		`cd x && nvcc "" y; z | w`:     {{"cd", "x"}, {"nvcc", "", "y"}, {"z"}, {"w"}},
		`nvcc -DNAME='"x"' -Xc=a\\b x`: {{"nvcc", `-DNAME="x"`, `-Xc=a\b`, "x"}},
	} {
		if got := splitWords(line); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Errorf("splitWords(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestParseCommand(t *testing.T) {
	for line, want := range map[string]command{
		"nvcc -O3 -arch=sm_60 -lineinfo -I inc -DX -lcublas -c -o y.o x.cu": {
			units: []unit{{"d", "x.cu", []string{"-O3", "-lineinfo", "-I", "inc", "-DX"}}}, output: "y.o"},
		"/cuda/bin/nvcc -gencode arch=compute_80,code=sm_80 -rdc=true -dc x.cu -MD -MF x.d": {
			units: []unit{{"d", "x.cu", nil}}, output: "x.o"},
		"nvcc -x cu -c main.cpp": {units: []unit{{"d", "main.cpp", []string{"-x", "cu"}}}, output: "main.o"},
		"nvcc -c main.cpp":       {},
		"nvcc -include a.cu x.cu -o x": {
			units: []unit{{"d", "x.cu", []string{"-include", "a.cu"}}}, output: "x", links: true},
		"nvcc -dlto a.o b.o -Xlinker c.o": {objects: []string{"a.o", "b.o"}, links: true},
	} {
		got, ok := parseCommand("d", splitWords(line)[0])
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v", line, got, want)
		}
	}
	if _, ok := parseCommand("d", []string{"g++", "-c", "x.cu"}); ok {
		t.Error("a call of g++ is taken for one of nvcc")
	}
}

// describeUnits shows units as text.
func describeUnits(units []unit) string {
	var list []string
	for _, u := range units {
		list = append(list, u.Dir+":"+u.Source+" "+strings.Join(u.Flags, " "))
	}
	return strings.Join(list, "; ")
}

func TestUnitsOfMake(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the last program": {"nvcc -c main.cu -o main.o\nnvcc -c x.cu -o x1.o\nnvcc -o one main.o x1.o\n" +
			"nvcc -DGPU -c x.cu -o x2.o\nnvcc -o two \\\n\tmain.o x2.o -lm\n", "d:main.cu ; d:x.cu -DGPU"},
		"linked by the host's compiler": {"nvcc -c a.cu\ng++ -c b.cpp -o b.o\ng++ a.o b.o -o p\n", "d:a.cu "},
		"in one step":                   {"nvcc -O2 a.cu b.cu b.cpp -o p\n", "d:a.cu -O2; d:b.cu -O2"},
		"no link":                       {"nvcc -c a.cu\nnvcc -c b.cu\n", "d:a.cu ; d:b.cu "},
		"in a folder": {"make[1]: Entering directory 'e'\nnvcc -c a.cu\nmake[1]: Leaving directory 'e'\nnvcc -c b.cu",
			"e:a.cu ; d:b.cu "},
		"without nvcc": {"g++ -c x.cu\n", ""},
	} {
		if got := describeUnits(unitsOfMake("d", c.text)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCompileCommands(t *testing.T) {
	programs, err := fromCompileCommands([]byte(`[
 {"directory": "/b", "file": "/s/x.cu", "command": "nvcc -DA -x cu -c /s/x.cu -o CMakeFiles/one.dir/x.cu.o"},
 {"directory": "/b", "file": "/s/h.cc", "command": "g++ -c /s/h.cc -o CMakeFiles/one.dir/h.cc.o"},
 {"directory": "/b", "file": "/s/y.cu", "arguments": ["nvcc", "-c", "/s/y.cu"], "output": "CMakeFiles/one.dir/y.cu.o"},
 {"directory": "/b/two", "file": "z.cu", "command": "nvcc -c z.cu -o z.o"}]`))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range programs {
		got += p.Name + "=" + describeUnits(p.Units) + "\n"
	}
	if want := "one=/b:/s/x.cu -DA -x cu; /b:/s/y.cu \ntwo=/b/two:z.cu \n"; got != want {
		t.Errorf("%s want\n%s", got, want)
	}
	if _, err := fromCompileCommands([]byte("{")); err == nil {
		t.Error("text that is no JSON is accepted")
	}
}

func TestOwnPrograms(t *testing.T) {
	root, err := filepath.Abs(ownPrograms)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := fromLists(root)
	if err != nil || len(listed) != 1 || describeUnits(listed[0].Units) !=
		root+":tables/forms.cu -O2 -DWIDTH=3; "+root+":tables/table.cu -O2 -DWIDTH=3" {
		t.Errorf("list: %+v, %v", listed, err)
	}
	samples, err := fromSamples(root)
	if err != nil || len(samples) != 1 || samples[0].Name != "launch" || describeUnits(samples[0].Units) !=
		filepath.Join(root, "Samples/basics/launch")+":launch.cu -O3 -I"+filepath.Join(root, "Common") {
		t.Errorf("samples: %+v, %v", samples, err)
	}
	library, err := fromLibrary(filepath.Dir(root))
	if err != nil || len(library) != 1 || library[0].Name != "waves-cuda" || len(library[0].Units) != 2 {
		t.Errorf("library: %+v, %v", library, err)
	}
}

func TestTextList(t *testing.T) {
	for _, text := range []string{"no colon", "p: a.cu b.cu", "p: -O3", "p: a.cu; b.cu"} {
		if _, err := fromText("d", text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	programs, err := fromText("d", "# comment\n\np: a.cu -O3\nq: c.cu\np: b.cu\n")
	if err != nil || len(programs) != 2 || describeUnits(programs[0].Units) != "d:a.cu -O3; d:b.cu " {
		t.Errorf("%+v, %v", programs, err)
	}
}
