// Every fuzzing harness on every input of its corpus: inputs that once broke something, and samples of the real thing.
// The harness aborts where something does not hold; the last file that was named is the culprit.
#include "system/files.hpp"

#include <catch2/catch.hpp>
#include <map>

// Each harness is compiled here under the name of its file (Makefile).
using harness = int(const uint8_t*, std::size_t);
extern "C" harness fuzz_archive, fuzz_code_objects, fuzz_gpu_files, fuzz_node_json, fuzz_option, fuzz_protocol,
    fuzz_ranges, fuzz_slurm_text, fuzz_smi_answer, fuzz_sysfs, fuzz_variant;

namespace {

const std::map<std::string, harness*> harnesses = {
    {"fuzz_archive", fuzz_archive},       {"fuzz_code_objects", fuzz_code_objects},
    {"fuzz_gpu_files", fuzz_gpu_files},   {"fuzz_node_json", fuzz_node_json},
    {"fuzz_option", fuzz_option},         {"fuzz_protocol", fuzz_protocol},
    {"fuzz_ranges", fuzz_ranges},         {"fuzz_slurm_text", fuzz_slurm_text},
    {"fuzz_smi_answer", fuzz_smi_answer}, {"fuzz_sysfs", fuzz_sysfs},
    {"fuzz_variant", fuzz_variant},
};

} // namespace

TEST_CASE("every fuzzing harness holds on its corpus", "[fuzz]") {
    for (const auto& [name, run] : harnesses) {
        const std::string directory = "tests/fuzz/corpus/" + name;
        const auto inputs = amd_gpu::list_directory(directory);
        INFO(directory << " has inputs");
        CHECK_FALSE(inputs.empty());
        for (const auto& input : inputs) {
            const auto bytes = amd_gpu::read_file(directory + "/" + input);
            INFO(directory << "/" << input);
            REQUIRE(bytes);
            const auto* data = reinterpret_cast<const uint8_t*>(bytes->data());
            CHECK(run(data, bytes->size()) == 0);
            CHECK(run(data, bytes->size() / 2) == 0); // an answer that was cut off
        }
    }
}

TEST_CASE("every fuzzing harness is run on its corpus", "[fuzz]") {
    for (const auto& file : amd_gpu::list_directory("tests/fuzz")) {
        const auto end = file.find(".cpp");
        if (end != std::string::npos)
            CHECK(harnesses.contains(file.substr(0, end)));
    }
}
