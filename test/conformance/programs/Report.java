// Reads sales.csv, adds up each region, writes a compressed report. Uses Gson.
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;

record Sale(String region, double amount) {
    static Sale of(String line) {
        String[] fields = line.split(",");
        return new Sale(fields[0], Double.parseDouble(fields[1]));
    }
}

public class Report {
    public static void main(String[] arguments) throws IOException {
        Map<String, Double> totals;
        try (var lines = Files.lines(Path.of("sales.csv"))) {
            totals = lines.skip(1).map(Sale::of).collect(
                Collectors.groupingBy(Sale::region, TreeMap::new, Collectors.summingDouble(Sale::amount)));
        }
        var file = Files.newOutputStream(Path.of("report-java.json.gz"));
        try (Writer report = new OutputStreamWriter(new GZIPOutputStream(file), StandardCharsets.UTF_8)) {
            new GsonBuilder().setPrettyPrinting().create().toJson(totals, report);
        }
        totals.forEach((region, total) -> System.out.println(String.format(Locale.ROOT, "%s %.2f", region, total)));
    }
}
