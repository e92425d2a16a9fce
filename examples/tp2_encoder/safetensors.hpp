// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_SAFETENSORS_HPP
#define TP2_ENCODER_SAFETENSORS_HPP

//! @file
//! Reads a .safetensors file in place: 8 bytes header length (little-endian), a JSON header, raw tensors.
//! The file is mapped, so ranks that are processes share its pages, and only the pages a rank touches are
//! loaded.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>

namespace tp2_encoder {

//! A `TensorSource` over one file; it owns the mapping.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::filesystem::path const& path) : path_(path), bytes_(map(path)) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t header_bytes = 0;
    require(bytes_.size() > sizeof header_bytes, "is too short");
    std::memcpy(&header_bytes, bytes_.data(), sizeof header_bytes);
    require(header_bytes <= bytes_.size() - sizeof header_bytes, "has a header that ends behind the file");
    auto const body = bytes_.subspan(sizeof header_bytes);
    auto const* text = reinterpret_cast<char const*>(body.data());
    header_ = nlohmann::json::parse(text, text + header_bytes, nullptr, /*allow_exceptions=*/false);
    require(header_.is_object(), "has a header that is no JSON object");
    tensors_ = body.subspan(header_bytes);
  }
  SafetensorsFile(SafetensorsFile const&) = delete;
  SafetensorsFile& operator=(SafetensorsFile const&) = delete;
  ~SafetensorsFile() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

  //! @brief The floats of a tensor; throws where it is missing, no float32, of another shape or out of
  //! bounds.
  [[nodiscard]] float const* tensor(std::string const& name, int rows, int columns) const {
    auto const entry = header_.find(name);
    require(entry != header_.end(), "has no tensor " + name);
    require(entry->value("dtype", "") == "F32", "holds " + name + " in another type than float32");
    auto const matrix_shape = nlohmann::json{rows, columns};
    auto const vector_shape = nlohmann::json::array({columns});
    auto const& shape = entry->at("shape");
    require(shape == matrix_shape || (rows == 1 && shape == vector_shape),
            "holds " + name + " as " + shape.dump() + ", expected " + matrix_shape.dump());
    auto const begin = entry->at("data_offsets").at(0).get<std::uint64_t>();
    auto const end = entry->at("data_offsets").at(1).get<std::uint64_t>();
    require(begin <= end && end <= tensors_.size() && end - begin == sizeof(float) * rows * columns,
            "has wrong offsets for " + name);
    auto const* data = tensors_.data() + begin;
    require(reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0, "holds " + name + " unaligned");
    return reinterpret_cast<float const*>(data);
  }

 private:
  static std::span<std::byte const> map(std::filesystem::path const& path) {
    auto const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw std::runtime_error(path.string() + ": " + std::strerror(errno));
    struct stat status {};
    auto const size = ::fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
    auto* address = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    ::close(file);
    if (address == MAP_FAILED) throw std::runtime_error(path.string() + " cannot be mapped");
    return {static_cast<std::byte const*>(address), size};
  }

  void require(bool condition, std::string const& complaint) const {
    if (!condition) throw std::runtime_error(path_.string() + " " + complaint);
  }

  std::filesystem::path path_;
  std::span<std::byte const> bytes_;
  std::span<std::byte const> tensors_;
  nlohmann::json header_;
};

}  // namespace tp2_encoder

#endif
