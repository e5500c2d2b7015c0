// Reads sales.csv, adds up each region, writes a report. Uses nlohmann/json.
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

static std::map<std::string, double> totals(std::istream &sales) {
  std::map<std::string, double> found;
  std::string line, region, amount;
  std::getline(sales, line);
  while (std::getline(sales, line)) {
    std::istringstream fields(line);
    if (std::getline(fields, region, ',') && std::getline(fields, amount)) found[region] += std::stod(amount);
  }
  return found;
}

int main() {
  std::ifstream sales("sales.csv");
  if (!sales) throw std::runtime_error("sales.csv cannot be opened");
  const auto found = totals(sales);
  for (const auto &[region, total] : found)
    std::cout << region << ' ' << std::fixed << std::setprecision(2) << total << '\n';
  std::ofstream("report-cpp.json") << nlohmann::json(found).dump(2) << '\n';
}
