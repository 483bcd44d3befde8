package budget

import (
	"strings"
	"testing"
)

func TestClassOf(t *testing.T) {
	for class, paths := range map[Class]string{
		Source: `main.go cmd/x/main.go a/latest.go contest.py src/main/java/Foo.java spec.go pod_spec.go load_tests.go test_plan.go mock_store.go job_spec.py it.js make_it.py suite.py
			Makefile Dockerfile build.gradle query.sql main.tf deploy.sh .github/workflows/test.yml .gitea/workflows/ci.yaml action.yml CMakeLists.txt
			index.html style.css security.go version.py license.ts readme.go notice.rb Attestation.java testable.js Latest.kt src/docs/page.tsx
			mocking.py unit_tester.py docker-compose.yml x y/z a. -`,
		Test: `a_test.go x/a_test.go test_foo.py foo_test.py tests/foo.py conftest.py a.test.ts a.spec.tsx a.cy.js src/__tests__/a.js src/test/java/Foo.java
			FooTest.java FooTests.cs FooIT.java TestFoo.java HTMLTest.php FooSpec.scala foo_spec.rb spec/models/foo.rb foo_test.cc foo_unittest.cc
			tests.rs tests/it.rs foo_SUITE.erl foo_test.exs test/a.dart FooSpec.hs t/01.t a.bats a.feature x.snap testdata/a.json testdata/a.go
			Foo.Tests/Bar.cs FooUITests/Bar.swift fixtures/a.yml mock_foo.py FooMock.java e2e/login.ts app/src/androidTest/A.kt test.js x/test/testdata/x.golden`,
		Docs: `README.md docs/guide.rst docs/conf.py tests/README.md LICENSE LICENSE-MIT CHANGELOG package.json config/app.yaml a.toml .gitignore
			.editorconfig go.mod logo.svg messages.po web.config a.csproj man/x.1 robots.txt x/CODEOWNERS app.test.yaml`,
		Generated: `go.sum a.pb.go vendor/x.go node_modules/a/index.js a.min.js zz_generated_test.go vendor/README.md a_pb2.py`,
	} {
		for path := range strings.FieldsSeq(paths) {
			if got := ClassOf(path); got != class {
				t.Errorf("%s: %v, want %v", path, got, class)
			}
		}
	}
	if Class(9).String() != "unknown" {
		t.Error(Class(9))
	}
}

func TestSplit(t *testing.T) {
	for stem, want := range map[string]string{
		"fooBar": "foo bar", "FooBar": "foo bar", "foo_bar-baz.x": "foo bar baz x", "HTMLTest": "html test", "": "", "__": "", "a": "a",
		"FooIT": "foo it", "ÄÖTest": "äö test", "foo2Test": "foo2 test",
	} {
		if got := strings.Join(split(stem), " "); got != want {
			t.Errorf("%s: %q, want %q", stem, got, want)
		}
	}
}
