#!/usr/bin/env bash
# Apache POI 5.5.1 (Java): formulas of Excel with a sign before a power, calculated by its FormulaEvaluator.
# Expected: -2^2 is 4, and 2*-3^2 is 18, as in Excel, whose documentation puts the sign before the power in the order of operators, and in
# excelize 2.11.1 and HyperFormula 3.5.0.
# Seen: -4 and -18, as in mathematics. Of a cell with -5, `=-B1^2` is -25. Excel shows the other result as soon as it calculates the same
# workbook. And SEARCH does not know the wildcards of Excel: SEARCH("b?","abc") is an error and not 2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'PROJECT'
<project><modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.poi</groupId><artifactId>poi-ooxml</artifactId><version>5.5.1</version></dependency>
</dependencies></project>
PROJECT
mvn --quiet --batch-mode -Dmaven.repo.local="$folder/maven" dependency:copy-dependencies -DoutputDirectory=jars
cat > Calculate.java <<'PROGRAM'
import org.apache.poi.xssf.usermodel.XSSFWorkbook;
public class Calculate {
  public static void main(String[] formulas) throws Exception {
    try (var workbook = new XSSFWorkbook()) {
      var row = workbook.createSheet().createRow(0);
      var cell = row.createCell(0);
      row.createCell(1).setCellValue(-5);
      var evaluator = workbook.getCreationHelper().createFormulaEvaluator();
      for (String formula : formulas) {
        cell.setCellFormula(formula);
        evaluator.clearAllCachedResultValues();
        System.out.println(formula + " | " + evaluator.evaluate(cell).formatAsString());
      }
    }
  }
}
PROGRAM
formulas=('-2^2' '2*-3^2' '-B1^2' '0-2^2' 'SEARCH("b?","abc")' 'SEARCH("b","abc")')
output=$(java -Dlog4j2.statusLoggerLevel=OFF -Dlog4j2.StatusLogger.level=OFF -cp 'jars/*' Calculate.java "${formulas[@]}" 2>/dev/null)
echo "$output"
diff - <(echo "$output") <<'LINES'
-2^2 | -4.0
2*-3^2 | -18.0
-B1^2 | -25.0
0-2^2 | -4.0
SEARCH("b?","abc") | #VALUE!
SEARCH("b","abc") | 2.0
LINES
echo 'as described'
