/** Names of languages that highlighters (highlight.js, Prism, Pygments, GeSHi) use as classes of their own. */
export const LANGUAGES: ReadonlySet<string> = new Set(
  `abap actionscript ada apache apacheconf apex applescript arduino asm assembly autohotkey awk bash bat batch bicep bnf c c++ c# cc
  clojure cmake cmd cobol coffee coffeescript console cpp crystal cs csharp css csv cuda cypher cython dart delphi diff django docker
  dockerfile dos ebnf elisp elixir elm erb erlang ex excel exs fish fortran fs fsharp gdscript gherkin glsl go golang gradle graphql groovy
  haml handlebars haskell haxe hcl hlsl hs html http ini ipython ipython3 java javascript jinja jinja2 jl js json json5 jsonc jsonnet jsp
  jsx julia kotlin kt latex less liquid lisp llvm lua make makefile markdown mathematica matlab md mermaid mips mysql nasm nginx nim
  nix objc objective-c objectivec ocaml octave pascal perl pgsql php phtml pl plpgsql plsql postgresql powershell prolog properties
  proto protobuf ps1 pug puppet purescript py pycon python python3 pytb qml r razor rb rest rst ruby rust sas sass scala scheme scss
  sh shell shell-session solidity sparql sql stata stylus svelte swift systemverilog tcl terraform tex toml ts tsql tsx twig
  typescript v vala vb vbnet vbscript verilog vhdl vim vue wasm wgsl xhtml xml xquery xslt yaml yml zig zsh`.split(
    /\s+/,
  ),
);
