/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* A hierarchical block that passes log level and processor affinity to its inner blocks
 */

#ifndef MIMOPACK_RUNTIME_HIERARCHY_H
#define MIMOPACK_RUNTIME_HIERARCHY_H

#include <gnuradio/hier_block2.h>
#include <gnuradio/io_signature.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mimopack {

/* GNU Radio's own methods call those of all blocks in the message connections. A
 * hierarchical block with a message port is one of them, and would call itself without
 * end. A top block calls these methods too, so Python cannot override them. */
class hierarchy : public gr::hier_block2
{
public:
    using sptr = std::shared_ptr<hierarchy>;

    hierarchy(const std::string& name,
              gr::io_signature::sptr inputs,
              gr::io_signature::sptr outputs)
        : gr::hier_block2(name, std::move(inputs), std::move(outputs)), d_registered(name)
    {
    }

    // GNU Radio's registry finds the block by the name that it was made with.
    ~hierarchy() override { d_name = d_registered; }

    void contain(const gr::basic_block_sptr& block)
    {
        if (std::find(d_inner.begin(), d_inner.end(), block) == d_inner.end())
            d_inner.push_back(block);
    }

    const std::vector<gr::basic_block_sptr>& inner() const { return d_inner; }

    void rename(const std::string& name) { d_name = name; }

    void set_processor_affinity(const std::vector<int>& mask) override
    {
        for (const auto& block : d_inner)
            block->set_processor_affinity(mask);
    }

    void unset_processor_affinity() override
    {
        for (const auto& block : d_inner)
            block->unset_processor_affinity();
    }

    std::vector<int> processor_affinity() override
    {
        return d_inner.empty() ? std::vector<int>() : d_inner[0]->processor_affinity();
    }

    void set_log_level(const std::string& level) override
    {
        for (const auto& block : d_inner)
            block->set_log_level(level);
    }

    std::string log_level() override
    {
        return d_inner.empty() ? "off" : d_inner[0]->log_level();
    }

private:
    std::vector<gr::basic_block_sptr> d_inner;
    const std::string d_registered;
};

} // namespace mimopack

#endif
