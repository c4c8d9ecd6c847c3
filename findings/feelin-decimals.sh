#!/usr/bin/env bash
# feelin 8.2.0 (Node.js) and feel-engine 1.21.0 (Java), which evaluate FEEL, the language of decision tables (DMN) and of Camunda's forms
# and processes.
# Expected: the same decisions, with the decimals of 34 digits that DMN 1.5, section 10.3.2.3.1, prescribes.
# Seen: feelin calculates in binary floating point, so that amounts of 0.1 and 0.2 are over a limit of 0.3 in the browser and within it on
# the server. 435 cents become 434, and 1.005 is rounded to 1. A duration in years and months has days: P1Y11M30D.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund feelin@8.2.0
cat > pom.xml <<'PROJECT'
<project><modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version><dependencies>
<dependency><groupId>org.camunda.feel</groupId><artifactId>feel-engine</artifactId><version>1.21.0</version></dependency>
</dependencies></project>
PROJECT
mvn --quiet --batch-mode -Dmaven.repo.local="$folder/maven" dependency:copy-dependencies -DoutputDirectory=jars
cat > expressions <<'LINES'
if 0.1 + 0.2 > 0.3 then "over" else "within"
floor(4.35 * 100)
round half up(1.005, 2)
years and months duration(date("2024-02-29"), date("2026-02-28"))
decimal(1.115, 2)
LINES
cat > evaluate.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { evaluate } from 'feelin';
for (const expression of readFileSync('expressions', 'utf8').trim().split('\n'))
  console.log('feelin', expression, '|', String(evaluate(expression, {}).value));
SCRIPT
cat > Evaluate.java <<'PROGRAM'
import java.nio.file.*;
import java.util.Map;
public class Evaluate {
  public static void main(String[] arguments) throws Exception {
    var engine = org.camunda.feel.api.FeelEngineBuilder.forJava().build();
    for (String expression : Files.readAllLines(Path.of("expressions")))
      System.out.println("feel-engine " + expression + " | " + engine.evaluateExpression(expression, Map.<String, Object>of()).result());
  }
}
PROGRAM
output=$(node evaluate.js && java -cp 'jars/*' Evaluate.java 2>/dev/null)
echo "$output"
diff - <(echo "$output") <<'LINES'
feelin if 0.1 + 0.2 > 0.3 then "over" else "within" | over
feelin floor(4.35 * 100) | 434
feelin round half up(1.005, 2) | 1
feelin years and months duration(date("2024-02-29"), date("2026-02-28")) | P1Y11M30D
feelin decimal(1.115, 2) | 1.12
feel-engine if 0.1 + 0.2 > 0.3 then "over" else "within" | within
feel-engine floor(4.35 * 100) | 435
feel-engine round half up(1.005, 2) | 1.01
feel-engine years and months duration(date("2024-02-29"), date("2026-02-28")) | P1Y11M
feel-engine decimal(1.115, 2) | 1.12
LINES
echo 'as described'
